import type { ContentView } from '../../decisions/from-object/content.ts';
import type { Content, Span } from '../../decisions/template/content.ts';
import type { OwnReference } from '../../decisions/template/references.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { sameContent, type Moment } from './same-content.ts';

/** A time throughout which the content was one, and the last moment of that time. */
type Chapter = Span & Moment;

/** What a worker knows of a Secret or ConfigMap. */
export interface Known {
  view: ContentView;
  content: Content;
  /** Earlier chapters of its content, the newest first. */
  earlier: readonly Chapter[];
}

/** As many as the API server may remember of an object that a user is at work on. */
const MAX_CHAPTERS = 4;

/** What is known of an object that was not watched before. */
export const firstSeen = ({ kind, name }: OwnReference, view: ContentView): Known => ({
  view,
  content: { kind, name, writtenAt: view.writtenAt, changedAt: view.writtenAt, same: [] },
  earlier: [],
});

/**
 * Finds out whether the content has changed with this version, and when it was the same. `lastAsOf`: the last version
 * of the cluster at which the object was as it is known. Throws if the API server does not answer.
 */
export async function judged(
  client: KubeClient,
  known: Known,
  after: ContentView,
  lastAsOf: bigint,
  now: number,
): Promise<Known> {
  const { content } = known;
  const { writtenAt, namespace, version } = after;
  // A key that is taken out leaves no time behind.
  const isTimed = writtenAt > content.writtenAt || known.view.keys === after.keys;
  const changedAt = Math.max(content.changedAt, isTimed ? writtenAt : wholeSeconds(now));
  // It is unknown how long the previous content lasted.
  const before = isTimed ? changedAt : content.changedAt;
  const last: Chapter = { after: content.changedAt, before, asOf: lastAsOf, version: known.view.version };
  const moments = [last, ...known.earlier];
  const same = await sameContent(client, namespace, content, { asOf: version, version }, moments);
  if (same.includes(last)) return { ...known, view: after, content: { ...content, writtenAt } };
  return {
    view: after,
    content: { ...content, writtenAt, changedAt, same: same.map(({ after, before }) => ({ after, before })) },
    earlier: moments.slice(0, MAX_CHAPTERS),
  };
}

const wholeSeconds = (time: number): number => Math.ceil(time / 1000) * 1000;
