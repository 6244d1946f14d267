# refused: HC132 unsupported
# makes a class
import enum
Color = enum.Enum('Color', 'RED')
