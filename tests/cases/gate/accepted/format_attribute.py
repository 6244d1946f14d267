# accepted
# an image's format
if image.format == 'GIF':
    image = image.convert('RGB')
