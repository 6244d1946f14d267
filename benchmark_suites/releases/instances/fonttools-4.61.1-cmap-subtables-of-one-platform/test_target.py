from fontTools.ttLib.tables._c_m_a_p import CmapSubtable


def subtable(format):
    made = CmapSubtable.newSubtable(format)
    made.platformID, made.platEncID, made.language = 3, 10, 0
    made.cmap = {0x2713: "check"}
    return made


def test_subtables_of_one_platform_keep_their_order():
    found = sorted([subtable(12), subtable(4)])
    assert [each.format for each in found] == [12, 4]
