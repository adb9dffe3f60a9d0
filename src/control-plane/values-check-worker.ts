import { parentPort } from 'node:worker_threads';
import { runValuesCheck } from './values-check.ts';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

// The program of a check thread: one text in, one answer out. The first message says that it is loaded.
parentPort?.on('message', (text: string) => parentPort?.postMessage(runValuesCheck(text)));
parentPort?.postMessage('ready');
