import { InvalidArgumentError, Option, type Command as Commander } from 'commander';
import { hasSources } from '../../../dev/paths.ts';
import { Failure, UsageError } from '../../cli/failure.ts';
import type { Globals } from '../../cli/globals.ts';
import { formatOption } from '../../cli/options.ts';
import type { DevOptions } from '../../dev/starter.ts';
import { Command } from '../command.ts';

const NO_SOURCES =
  "drover dev makes its servers from drover's sources, which only a clone has: run it in a clone of the repository";

/** `drover dev`, with its commands `stop` and `status`. */
export const devCommand = (): Command =>
  new Command('dev')
    .description('run everything on this machine: Temporal, etcd, kube-apiserver, simulated KubeVirt and a worker')
    .option('--ephemeral', 'start empty and keep nothing')
    .option('--no-simulator', "don't start the simulator: something else plays KubeVirt")
    .option('--no-worker', 'run no worker')
    .option('--detach', 'return when it is ready; it keeps running in the background until `drover dev stop`')
    .option('--kubevirt-crds <file>', "install these CRDs for KubeVirt's kinds instead of the stack's own")
    .option(
      '--temporal-port <port>',
      "Temporal's port (default, as for every port: the port of the last run, or a free one)",
      portNumber,
    )
    .option('--ui-port <port>', "port of Temporal's Web UI", portNumber)
    .option('--apiserver-port <port>', "kube-apiserver's port", portNumber)
    .option('--simulator-port <port>', 'port on which the simulator serves subresources.kubevirt.io', portNumber)
    .addOption(new Option('--background').hideHelp())
    .addHelpText(
      'after',
      `
All of it listens on 127.0.0.1 only, and everything it keeps is in the state folder: kubeconfig, env, logs, data.
Temporal, etcd and kube-apiserver are taken from DROVER_TEMPORAL, DROVER_ETCD and DROVER_KUBE_APISERVER, from PATH, or from
the cache (DROVER_CACHE), where they are put by the first run: downloaded (not with DROVER_DOWNLOADS=no), or built with Go.
Progress is written to stderr; stdout gets the lines that point a shell at the stack.
`,
    )
    .examples(
      ['Start it, and stop it with Ctrl-C', 'drover dev'],
      ['Start it in the background, and point this shell at it', 'eval "$(drover dev --detach)"'],
      ['A second one, which leaves nothing behind', 'drover dev --ephemeral --state /tmp/second'],
      ['Is it there? Stop it', 'drover dev status; drover dev stop'],
    )
    .action(async (options: DevOptions, command: Commander) => {
      if (!hasSources()) throw new Failure(NO_SOURCES);
      const globals = ownServersOnly(command.optsWithGlobals<Globals>());
      if (options.detach === true) {
        const { detach } = await import('../../dev/detach.ts');
        await detach(options, globals);
      } else {
        const { run } = await import('../../dev/run.ts');
        await run(options, globals);
      }
    })
    .addCommand(stopCommand())
    .addCommand(statusCommand());

const stopCommand = (): Command =>
  new Command('stop')
    .description('stop the running stack, and wait until it has ended')
    .examples(
      ['The stack with the default state folder', 'drover dev stop'],
      ['A stack with another state folder', 'drover dev stop --state /tmp/second'],
    )
    .action(async (_options: object, command: Commander) => {
      const { stop } = await import('../../dev/stop.ts');
      await stop(command.optsWithGlobals<Globals>());
    });

const statusCommand = (): Command =>
  new Command('status')
    .description('show whether the stack runs, and where; the exit code is 0 when it is ready, 1 when not')
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      ['Processes, addresses and logs', 'drover dev status'],
      ["The Web UI's address, for a script", 'drover dev status -o json | jq -r .temporalUi'],
    )
    .action(async (options: { output?: 'json' | 'yaml' }, command: Commander) => {
      const { status } = await import('../../dev/status.ts');
      await status(options, command.optsWithGlobals<Globals>());
    });

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('Give a port, from 1 to 65535.');
}

/** Throws `UsageError` for global flags that name servers, which make no sense here. */
function ownServersOnly(globals: Globals): Globals {
  for (const [flag, value] of [
    ['--kubeconfig', globals.kubeconfig],
    ['--context', globals.context],
    ['--address', globals.address],
  ]) {
    if (value !== undefined) throw new UsageError(`drover dev starts its own servers: leave out ${flag}`);
  }
  return globals;
}
