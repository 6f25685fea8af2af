package extract

// Version is the number of what this package reads of files. It is raised whenever a file gives
// other documents than before, so that whoever has kept what an earlier version gave knows that the
// file is to be read again although it has not changed.
const Version = 18
