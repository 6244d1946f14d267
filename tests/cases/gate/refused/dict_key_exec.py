# refused: HC130 dangerous
# text as code as a key
{exec: 1}
