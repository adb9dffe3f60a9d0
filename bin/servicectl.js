#!/usr/bin/env node
import './require-node-24.js';

await import('../dist/cli/main.js');
