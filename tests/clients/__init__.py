"""The clients that people have, at their own versions, against the real server.

driver           a client in a Node process, controlled over its pipe (`driver.mjs`)
scripted_turns   the turns that every client is shown, and the parts of their messages
message_parts    a message of a client, or of hydrate, in one form for all
random_turns     turns made at random
proxy            TCP that is cut when a test wants it
npm              node_modules as the lock file has it
"""
