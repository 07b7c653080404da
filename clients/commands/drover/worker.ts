import { Command } from 'commander';
import { VARIABLES, type Variable } from '../../../workers/variables.ts';
import type { runWorker } from '../../../workers/worker.ts';
import { Failure } from '../../cli/failure.ts';
import { examples } from '../../cli/options.ts';
import { Session } from '../../session/session.ts';

function variables(): string[] {
  const all: [string, Variable][] = Object.entries(VARIABLES);
  const width = Math.max(...all.map(([name]) => name.length));
  return all.map(
    ([name, { what, value, without }]) => `  ${name.padEnd(width)}  ${what} (${value ?? `default: ${without}`})`,
  );
}

/** Throws `Failure` in the npm package, which leaves out what has a native part. */
async function loadWorker(): Promise<{ runWorker: typeof runWorker }> {
  try {
    return await import('../../../workers/worker.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Failure(
      "drover worker needs Temporal's native core, which the npm package does not have: run the container image, or a clone of the repository",
      { cause: error },
    );
  }
}

export const workerCommand = (): Command =>
  new Command('worker')
    .description('run a worker in the foreground, which keeps pools and sets as their specs say; any number may run')
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
      const [worker, { readConfig }] = await Promise.all([loadWorker(), import('../../../workers/config.ts')]);
      process.env = await session.environment();
      const config = readConfig({ ...process.env, DROVER_CLUSTER: session.cluster });
      process.once('SIGINT', () => (process.exitCode = 130));
      await worker.runWorker(config, { context: session.globals.context });
    });
