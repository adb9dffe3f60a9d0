#!/usr/bin/env node
import './require-node-24.js';

await import('../dist/control-plane/main.js');
