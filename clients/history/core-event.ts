import type { KubeObject } from '../../api/objects.ts';

/** An Event of the core API group, as far as commands read it. */
export interface CoreEvent extends KubeObject {
  involvedObject: { kind: string; name: string };
  eventTime?: string | null;
  lastTimestamp?: string | null;
  series?: { lastObservedTime?: string };
  type?: string;
  action?: string;
  reason?: string;
  message?: string;
  reportingComponent?: string;
  reportingInstance?: string;
}

/** When it was last seen, in RFC 3339. */
export const timeOfEvent = ({ series, eventTime, lastTimestamp, metadata }: CoreEvent): string =>
  series?.lastObservedTime ?? eventTime ?? lastTimestamp ?? metadata.creationTimestamp ?? '';
