# refused: HC114 dangerous, HC133 dangerous
# threads through a module of the frame
logging.threading.Thread(target=self.delete)
