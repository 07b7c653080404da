import { Command } from 'commander';
import { printItems, type DataFormat } from '../cli/data.ts';
import { UsageError } from '../cli/failure.ts';
import { kindArguments, OWNERS, type OwnerKind } from '../cli/kinds.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { examples, formatOption } from '../cli/options.ts';
import { checkSelector } from '../cli/parse-flag.ts';
import { targetsOf, type Targets } from '../cli/targets.ts';
import { inSession, type Session } from '../session/session.ts';

interface StatusOptions {
  allNamespaces?: boolean;
  selector?: string;
  output?: DataFormat;
  watch?: boolean;
}

export const statusCommand = (): Command =>
  new Command('status')
    .description('show the progress of pools or replica sets: VMs by state, operations in progress, recent errors')
    .argument('[kind]', `${kindArguments(OWNERS)}, or KIND/NAME`, 'pools')
    .argument('[names...]')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only those with these labels, such as app=web,tier!=db')
    .addOption(formatOption(['json', 'yaml']))
    .option('-w, --watch', 'a live view, until Ctrl-C')
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace, now', 'drover status'],
        ['One pool, live', 'drover status pool web --watch'],
        ['A replica set, live', 'drover status vmrs runners --watch'],
        [
          'For a program: which pools lack VMs',
          "drover status -A -o json | jq '.items[] | select(.ready < .desired).name'",
        ],
        ['A record of everything that changes', 'drover status -A --watch > fleet.log'],
      ),
    )
    .action((word: string, words: string[], options: StatusOptions, command: Command) =>
      inSession(command, async (session) => {
        const targets = targetsOf([word, ...words], OWNERS);
        if (targets.names.length > 0 && options.allNamespaces === true)
          throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
        if (targets.names.length > 0 && options.selector !== undefined)
          throw new UsageError('give names or a selector, not both');
        if (options.output !== undefined && options.watch === true)
          throw new UsageError('give --output or --watch, not both: `drover get --watch -o json` prints each change');
        await checkSelector(options.selector);
        await status(session, targets, options);
      }),
    );

async function status(session: Session, { kind, names }: Targets<OwnerKind>, options: StatusOptions): Promise<void> {
  const kube = await session.kube();
  const namespace = options.allNamespaces === true ? undefined : await session.namespace();
  for (const name of names) await ofKnownKind(kind.resource, kube.get(kind.resource, { namespace, name }));
  const { selector, output } = options;
  if (output !== undefined) {
    const { readData } = await import('../owners/data.ts');
    const data = await ofKnownKind(kind.resource, readData(session, kind, { namespace, names, selector }));
    return printItems(data, output, { isOne: names.length === 1 });
  }
  const { StatusWatch } = await import('../owners/status-watch.ts');
  await using _drawn = await new StatusWatch({
    session,
    kind,
    namespace,
    names,
    selector,
    withProgress: await session.knowsTemporal(),
    isLive: options.watch === true,
  }).start();
  if (options.watch === true) await new Promise(() => {});
}
