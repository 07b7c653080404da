import { spawn } from 'node:child_process';
import { Command, type Option } from 'commander';
import { gatherSettings } from '../../../workers/settings/gather.ts';
import { eachSetting, isOfDashboard } from '../../../workers/settings/settings.ts';
import { UsageError } from '../../cli/failure.ts';
import type { Globals } from '../../cli/globals.ts';
import { examples } from '../../cli/options.ts';
import { printNote, print } from '../../cli/print.ts';
import { untilAborted } from '../../cli/watch-until.ts';
import { Session } from '../../session/session.ts';
import { flagsOf } from '../../settings/flags-of.ts';
import { settingOption } from '../../settings/setting-option.ts';

interface Options extends Globals {
  allNamespaces?: boolean;
  browser: boolean;
  readOnly?: boolean;
}

/** A flag for each setting of the dashboard. */
const dashboardOptions = (): Option[] =>
  eachSetting()
    .filter(([name]) => isOfDashboard(name))
    .map(([, setting]) => settingOption(setting));

export function dashboardCommand(): Command {
  const command = new Command('dashboard')
    .description('show all pools, sets and VMs that you may see on a page in the browser, with buttons to control them')
    .option('-A, --all-namespaces', 'in all namespaces that you may see, as without --namespace')
    .option('--no-browser', 'only print the address')
    .option('--read-only', 'refuse everything that changes something');
  for (const option of dashboardOptions()) command.addOption(option);
  return command
    .addHelpText(
      'after',
      examples(
        ['Open it', 'drover dashboard'],
        ['One namespace, to look at alone', 'drover dashboard -n shop --read-only'],
        [
          'On a machine without a browser, behind `ssh -L 8899:127.0.0.1:8899`',
          'drover dashboard --no-browser --port 8899',
        ],
      ),
    )
    .action(async (options: Options, command: Command) => {
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      await dashboard({ ...options, ...command.optsWithGlobals<Options>() }, command, stop.signal);
    });
}

/** Serves the page until the signal. */
async function dashboard(options: Options, command: Command, signal: AbortSignal): Promise<void> {
  const { namespace, allNamespaces, readOnly: isReadOnly = false, browser } = options;
  if (namespace !== undefined && allNamespaces === true) throw new UsageError('give --namespace or -A, not both');
  const given = gatherSettings(process.env, flagsOf(command));
  const { proxiedOptions } = await import('../../dashboard/proxied/options.ts');
  const proxied = proxiedOptions(given);
  if (proxied !== undefined) {
    const { serveProxied } = await import('../../dashboard/proxied/proxied-dashboard.ts');
    const running = await serveProxied({ ...proxied, globals: options, isReadOnly });
    await untilAborted(signal);
    return running.close();
  }
  const session = new Session(options);
  try {
    const { startDashboard } = await import('../../dashboard/dashboard.ts');
    const port = Number(given.get('dashboard.port')?.text ?? 0);
    const running = await startDashboard(session, { namespace, port, isReadOnly });
    print(running.url);
    printNote('everyone who has this address acts as you; Ctrl-C ends it');
    if (browser) openBrowser(running.url);
    await untilAborted(signal);
    await running.close();
  } finally {
    await session.close();
  }
}

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Does nothing where there is no browser: the address is printed. */
function openBrowser(url: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const known = OPENERS[process.platform];
  if (known === undefined && !DISPLAY && !WAYLAND_DISPLAY) return;
  const [program = '', ...args] = known ?? ['xdg-open'];
  const opener = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  opener.on('error', () => {});
  opener.unref();
}
