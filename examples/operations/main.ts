import { runExample } from '../run-example.ts';
import { OPERATIONS } from './operations.ts';

await runExample(OPERATIONS);
