import { log } from '@temporalio/activity';
import { EVENT_REPORTER } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { Events } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';

const MAX_EVENTS = 5;

/** The fields of `events.k8s.io/v1` that drover reads. */
interface KubernetesEvent extends KubeObject {
  reportingController?: string;
  regarding?: { kind?: string };
  type?: string;
  reason?: string;
  note?: string;
  eventTime?: string | null;
  series?: { lastObservedTime?: string };
  deprecatedLastTimestamp?: string;
}

const timeOf = ({ series, deprecatedLastTimestamp, eventTime, metadata }: Stored<KubernetesEvent>): string =>
  series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp;

/** Returns what Kubernetes last reported about the VM and its VMI, without drover's own Events. */
export async function lastEvents(client: KubeClient, { metadata: { namespace, name } }: Stored): Promise<string[]> {
  try {
    const { items } = await client.list<KubernetesEvent>(Events, {
      namespace,
      fieldSelector: `regarding.name=${name}`,
    });
    return items
      .filter((event) => event.reportingController !== EVENT_REPORTER)
      .map((event) => ({
        time: timeOf(event),
        text: `${event.regarding?.kind} ${event.type} ${event.reason}: ${event.note ?? ''}`.slice(0, 512),
      }))
      .toSorted((a, b) => (a.time < b.time ? -1 : 1))
      .slice(-MAX_EVENTS)
      .map(({ time, text }) => `${time} ${text}`);
  } catch (error) {
    log.warn('the Events of an unhealthy VM could not be read', { vm: name, error: (error as Error).message });
    return [];
  }
}
