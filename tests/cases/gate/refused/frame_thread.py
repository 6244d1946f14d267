# refused: HC133 dangerous
# outlives the heal
threading.Thread(target=self.delete).start()
