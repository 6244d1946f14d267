import mistune
from mistune.renderers.rst import RSTRenderer


def test_quotation_inside_of_a_list():
    convert = mistune.create_markdown(renderer=RSTRenderer())
    assert "proverb" in convert("- saying\n  > proverb\n")
