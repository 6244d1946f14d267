# accepted
# a database's query
rows = session.query(User).filter(User.id == key).all()
