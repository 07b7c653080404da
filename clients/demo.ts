import { Command } from 'commander';
import { defaultState } from '../dev/paths.ts';
import { examples } from './cli/options.ts';
import { runProgram, withPlainErrors } from './cli/run-program.ts';

interface DemoOptions {
  exit?: boolean;
  state: string;
}

const demo = withPlainErrors(new Command('npm run demo --'))
  .description(
    'Starts the embedded stack with nothing in it, and shows a pool of VMs that comes up, grows and shrinks.',
  )
  .option('--exit', 'end when everything has been shown; the exit code says whether all went well')
  .option('--state <dir>', 'state folder of the stack', defaultState())
  .addHelpText(
    'after',
    examples(['Run until Ctrl-C', 'npm run demo'], ['Check that all of it works', 'npm run demo -- --exit']),
  )
  .action(async ({ exit = false, state }: DemoOptions) => {
    const { runDemo } = await import('./demo/run.ts');
    await runDemo({ exit, state });
  });

await runProgram(demo, process.argv.slice(2));
