# refused: HC130 dangerous
# ends the process
exit()
