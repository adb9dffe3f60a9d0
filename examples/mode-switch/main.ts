import { runExample } from '../run-example.ts';
import { MODE_SWITCH } from './mode-switch.ts';

await runExample(MODE_SWITCH);
