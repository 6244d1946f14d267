# refused: HC133 dangerous
# for the whole process
os.path.exists = fake
