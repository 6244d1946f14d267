from fontTools.designspaceLib import DesignSpaceDocument

TEXT = """<?xml version='1.0' encoding='UTF-8'?>
<designspace format="5.0">
  <axes><axis tag="wght" name="Weight" minimum="100" maximum="900" default="400"/></axes>
  <instances><instance name="bold"><lib/></instance></instances>
</designspace>"""


def test_instance_with_an_empty_lib():
    document = DesignSpaceDocument.fromstring(TEXT)
    assert [(each.name, each.lib) for each in document.instances] == [("bold", {})]
