import { constants, setPriority } from 'node:os';

/** Setup of projects that need nothing but processors: they, and the processes that they start, leave them to all others. */
setPriority(constants.priority.PRIORITY_LOW);
