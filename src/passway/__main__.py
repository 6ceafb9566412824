"""`python -m passway`: the same as `passway`.

Lets a command start another one with the interpreter that runs it, whatever PATH says. Holds
nothing of its own.
"""

from passway.main import main

if __name__ == "__main__":
    main()
