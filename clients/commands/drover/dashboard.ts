import { spawn } from 'node:child_process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../cli/failure.ts';
import type { Globals } from '../../cli/globals.ts';
import { examples } from '../../cli/options.ts';
import { note, print } from '../../cli/print.ts';
import { Session } from '../../session/session.ts';

interface Options {
  allNamespaces?: boolean;
  port: number;
  browser: boolean;
  readOnly?: boolean;
}

export const dashboardCommand = (): Command =>
  new Command('dashboard')
    .description('show all pools, sets and VMs that you may see on a page in the browser, with buttons that steer them')
    .option('-A, --all-namespaces', 'in all namespaces that you may see, as without --namespace')
    .addOption(
      new Option('--port <n>', 'serve on this port (default: any that is free)').argParser(portNumber).default(0),
    )
    .option('--no-browser', 'only print the address')
    .option('--read-only', 'refuse everything that changes something')
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
    .action(async (_options: Options, command: Command) => {
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      await dashboard(command.optsWithGlobals(), stop.signal);
    });

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('Give a number from 0 to 65535.');
}

/** Serves the page until the signal. */
async function dashboard(options: Options & Globals, signal: AbortSignal): Promise<void> {
  const { namespace, allNamespaces, port, readOnly = false, browser } = options;
  if (namespace !== undefined && allNamespaces === true) throw new UsageError('give --namespace or -A, not both');
  const session = new Session(options);
  try {
    const { startDashboard } = await import('../../dashboard/dashboard.ts');
    const running = await startDashboard(session, { namespace, port, isReadOnly: readOnly });
    print(running.url);
    note('whoever has this address acts as you; Ctrl-C ends it');
    if (browser) openBrowser(running.url);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
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
  const [program = '', ...words] = known ?? ['xdg-open'];
  const opener = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
  opener.on('error', () => {});
  opener.unref();
}
