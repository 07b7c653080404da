import { Command } from 'commander';
import { VARIABLES, type Variable } from '../../workers/variables.ts';
import { examples } from '../cli/options.ts';
import { Session } from '../session/session.ts';

function variables(): string[] {
  const all: [string, Variable][] = Object.entries(VARIABLES);
  const width = Math.max(...all.map(([name]) => name.length));
  return all.map(
    ([name, { what, value, without }]) => `  ${name.padEnd(width)}  ${what} (${value ?? `default: ${without}`})`,
  );
}

export const workerCommand = (): Command =>
  new Command('worker')
    .description('run a worker in the foreground: it makes what pools ask for; any number may run')
    .addHelpText(
      'after',
      `
Environment:
${variables().join('\n')}

Temporal and the cluster are found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, Temporal's other variables, and KUBECONFIG.
`,
    )
    .addHelpText(
      'after',
      examples(
        ['For the cluster of the kubeconfig and the Temporal on this machine', 'drover worker'],
        ['With health and metrics', 'DROVER_HEALTH_PORT=8080 drover worker --address temporal:7233'],
      ),
    )
    .action(async (_options: object, command: Command) => {
      const session = new Session(command.optsWithGlobals());
      const [{ runWorker }, { readConfig }] = await Promise.all([
        import('../../workers/worker.ts'),
        import('../../workers/config.ts'),
      ]);
      process.env = await session.environment();
      const config = readConfig({ ...process.env, DROVER_CLUSTER: session.cluster });
      process.once('SIGINT', () => (process.exitCode = 130));
      await runWorker(config, { context: session.globals.context });
    });
