import { runProgram } from './cli/run-program.ts';
import { droverProgram } from './program.ts';

const args = process.argv.slice(2);
await runProgram(droverProgram(), args.length === 0 ? ['--help'] : args);
