import { basename } from 'node:path';
import { ensureHome } from '../workers/settings/home.ts';
import { runProgram } from './cli/run-program.ts';
import { droverProgram } from './program.ts';

ensureHome(process.env);
// kubectl runs a program of this name for `kubectl drover`.
const name = basename(process.argv[1] ?? '') === 'kubectl-drover' ? 'kubectl drover' : 'drover';
const args = process.argv.slice(2);
await runProgram(droverProgram(name), args.length === 0 ? ['--help'] : args);
