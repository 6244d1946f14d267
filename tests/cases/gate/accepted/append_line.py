# accepted
# a list grows
tb_lines.append('')
