# refused: HC110 dangerous
# a template that reads attributes
formatter.vformat('{0.__class__}', [x], {})
