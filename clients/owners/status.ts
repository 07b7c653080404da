import { UsageError } from '../cli/failure.ts';
import { OWNERS } from '../cli/kinds.ts';
import { checkSelector } from '../cli/parse-values.ts';
import { printItems, type DataFormat } from '../cli/print.ts';
import { targetsOf } from '../cli/targets.ts';
import type { Work } from '../session/session.ts';
import { readData } from './data.ts';
import { StatusWatch } from './status-watch.ts';

interface StatusOptions {
  allNamespaces?: boolean;
  selector?: string;
  output?: DataFormat;
  watch?: boolean;
}

/** Shows how far pools or replica sets are, once or live. Throws `UsageError`. */
export const ownersStatus: Work<StatusOptions> = async (session, options, ...args) => {
  const { kind, names } = targetsOf(args, OWNERS);
  const { allNamespaces, selector, output, watch } = options;
  if (names.length > 0 && allNamespaces === true)
    throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
  if (names.length > 0 && selector !== undefined) throw new UsageError('give names or a selector, not both');
  if (output !== undefined && watch === true)
    throw new UsageError('give --output or --watch, not both: `kubectl get dpool --watch -o json` prints each change');
  await checkSelector(selector);
  const kube = await session.kube();
  const namespace = allNamespaces === true ? undefined : await session.namespace();
  for (const name of names) await kube.get(kind.resource, { namespace, name });
  if (output !== undefined) {
    const data = await readData(session, kind, { namespace, names, selector });
    return printItems(data, output, { isOne: names.length === 1 });
  }
  await using _drawn = await new StatusWatch({
    session,
    kind,
    namespace,
    names,
    selector,
    withProgress: await session.knowsTemporal(),
    isLive: watch === true,
  }).start();
  if (watch === true) await new Promise(() => {});
};
