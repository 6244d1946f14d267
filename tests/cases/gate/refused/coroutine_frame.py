# refused: HC111 dangerous
# frames through a coroutine
task.cr_frame
