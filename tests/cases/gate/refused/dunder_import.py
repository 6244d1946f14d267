# refused: HC110 dangerous
# importing by text
__import__('os').remove(path)
