import { UsageError } from '../cli/failure.ts';
import { OWNERS } from '../cli/kinds.ts';
import { Live } from '../cli/live.ts';
import { checkSelector } from '../cli/parse-values.ts';
import { printItems, type DataFormat } from '../cli/print.ts';
import { targetsOf } from '../cli/targets.ts';
import type { Work } from '../session/session.ts';
import { ownerData, readStates } from './data.ts';
import { statusLines } from './status-view.ts';
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
  const which = { kind, namespace: allNamespaces === true ? undefined : await session.namespace(), names, selector };
  if (watch === true) {
    const kube = await session.kube();
    for (const name of names) await kube.get(kind.resource, { namespace: which.namespace, name });
    await using _drawn = await new StatusWatch(session, which).start();
    await new Promise(() => {});
  }
  const states = await readStates(session, which);
  if (output !== undefined) return printItems(states.map(ownerData), output, { isOne: names.length === 1 });
  const live = new Live();
  const now = Date.now();
  const knowsTemporal = await session.knowsTemporal();
  const views = states.map((state) => ({ ...state, progress: knowsTemporal ? state.progress : undefined }));
  const blocks = views.map((view) => statusLines(view, now, now));
  live.drawBlocks(kind.noun, blocks.length > 0 ? blocks : [[`no ${kind.noun}s`]]);
  live.end();
};
