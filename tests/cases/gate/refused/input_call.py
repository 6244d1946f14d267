# refused: HC130 dangerous
# nobody answers
answer = input()
