"""The command line: `lightfair COMMAND ...`.

main finds the command, options is the table of all options, arguments turns parsed options into
settings, rows and tables, commands holds the commands, output writes their results, and terminal
what only a terminal shows.
"""
