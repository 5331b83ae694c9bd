"""The clients that people have, at their own versions, against the real server.

driver      a client in a Node process, told what to do over its pipe (`driver.mjs`)
turns       the turns that every client is shown, and what they say
said        what a client, or hydrate, makes of a message, in one form for all
tools       a catalogue with tools that fail, hang and report progress
proxy       TCP that is cut when a test wants it
npm         node_modules as the lock file has it
"""
