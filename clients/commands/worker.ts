import { Command } from 'commander';
import { examples } from '../options.ts';
import { Session } from '../session.ts';

export const workerCommand = (): Command =>
  new Command('worker')
    .description('run a worker in the foreground: it makes what pools ask for; any number may run')
    .addHelpText(
      'after',
      `
Environment:
  DROVER_BURST           VMs of one pool in flight at once (250)
  DROVER_CONCURRENCY     calls to the API server at once, for one activity (32)
  DROVER_CONNECTIONS     connections to the API server (64)
  DROVER_HEALTH_PORT     serves /healthz, /readyz and /metrics (default: not at all)
  DROVER_HEALTH_ADDRESS  where it serves them (127.0.0.1)
  LOG_LEVEL              trace, debug, info, warn or error (info)
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
