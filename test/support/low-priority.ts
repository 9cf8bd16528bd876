import { constants, setPriority } from 'node:os';

/**
 * Setup of projects that need only CPU time: they and the processes that they start run at the lowest
 * priority.
 */
setPriority(constants.priority.PRIORITY_LOW);
