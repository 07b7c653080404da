import type { Command as Commander, Option } from 'commander';
import { eachSetting, isOfWorker } from '../../../workers/settings/settings.ts';
import type { runWorker } from '../../../workers/worker.ts';
import { Failure } from '../../cli/failure.ts';
import { Session } from '../../session/session.ts';
import { flagsOf } from '../../settings/flags-of.ts';
import { settingOption } from '../../settings/setting-option.ts';
import { Command } from '../command.ts';

/** A flag for each setting of a worker. */
function workerOptions(): Option[] {
  const own = eachSetting().filter(([name]) => isOfWorker(name));
  return own.map(([, setting]) => settingOption(setting).env(setting.variable));
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

export function workerCommand(): Command {
  const command = new Command('worker');
  for (const option of workerOptions()) command.addOption(option);
  return command
    .description('run a worker in the foreground, which keeps pools and sets as their specs say; any number may run')
    .addHelpText(
      'after',
      `
Temporal and the cluster are found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, Temporal's other variables, and KUBECONFIG.
`,
    )
    .examples(
      ['For the cluster of the kubeconfig and the Temporal on this machine', 'drover worker'],
      ['With health and metrics', 'drover worker --health-port 8080 --address temporal:7233'],
    )
    .action(async (_options: object, command: Commander) => {
      const session = new Session(command.optsWithGlobals());
      const [worker, { configOf }, { gatherSettings }] = await Promise.all([
        loadWorker(),
        import('../../../workers/config.ts'),
        import('../../../workers/settings/gather.ts'),
      ]);
      const before = process.env;
      process.env = await session.environment();
      const config = configOf(gatherSettings(before, flagsOf(command)));
      process.once('SIGINT', () => (process.exitCode = 130));
      await worker.runWorker(config, { context: session.context });
    });
}
