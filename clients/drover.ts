import { basename } from 'node:path';
import { ensureHome } from '../workers/settings/home.ts';
import { runProgram } from './cli/run-program.ts';
import { droverProgram } from './program.ts';

/** By the name of the program: kubectl runs the first for `kubectl drover`, and asks the second what may follow. */
const CALLED_AS: Record<string, { name: string; args?: string[] }> = {
  'kubectl-drover': { name: 'kubectl drover' },
  'kubectl_complete-drover': { name: 'kubectl drover', args: ['complete', '--'] },
};

ensureHome(process.env);
const { name, args: first = [] } = CALLED_AS[basename(process.argv[1] ?? '')] ?? { name: 'drover' };
const args = [...first, ...process.argv.slice(2)];
await runProgram(droverProgram(name), args.length === 0 ? ['--help'] : args);
