import { basename } from 'node:path';
import { Command } from 'commander';
import { Failure } from '../../cli/failure.ts';
import { examples } from '../../cli/options.ts';
import { note, print } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';
import { workerOption, type WorkerOption } from './worker-account.ts';

export const supportBundleCommand = (): Command =>
  new Command('support-bundle')
    .description('collect what explains a trouble with drover in a .tar.gz, without secrets')
    .argument('[file]', 'where to; default: drover-support-<time>.tar.gz in the current folder')
    .addOption(workerOption())
    .addHelpText(
      'after',
      `
It reads all namespaces, or the one of -n. It reads no Secret and no ConfigMap, and leaves out what guests are set up with.
Look through it before you give it away: names of VMs, namespaces, nodes and users are in it.
${examples(
  ['For an issue', 'drover support-bundle'],
  ['Of one namespace', 'drover support-bundle -n shop shop.tar.gz'],
)}`,
    )
    .action((file: string | undefined, { worker }: WorkerOption, command: Command) =>
      inSession(command, async (session) => {
        const [{ collect }, { writeBundle }] = await Promise.all([
          import('../../support/collect.ts'),
          import('../../support/bundle.ts'),
        ]);
        const { namespace } = session.globals;
        const files = await collect(session, { namespace, worker });
        if (files.every(({ path }) => !path.startsWith('cluster/') && !path.startsWith('temporal/')))
          throw new Failure('neither the API server nor Temporal answers: `drover doctor` says why');
        const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
        const path = file ?? `drover-support-${time}.tar.gz`;
        const bytes = await writeBundle(path, basename(path).replace(/(\.tar)?\.t?gz$/, ''), files);
        const errors = files.find(({ path }) => path === 'errors.txt');
        if (errors !== undefined)
          note(`not everything could be read; errors.txt in it says what:\n${errors.text.trim()}`);
        print(
          `${path} written: ${files.length + 1} files, ${Math.ceil(bytes / 1024)} KiB; look through it before you give it away`,
        );
      }),
    );
