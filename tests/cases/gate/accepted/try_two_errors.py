# accepted
# named errors
try:
    number = float(text)
except (TypeError, ValueError) as error:
    number = 0.0
    notes.append(str(error))
else:
    notes.append('ok')
finally:
    checked = True
