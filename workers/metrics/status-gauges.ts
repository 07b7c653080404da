import { Gauge, type Registry } from 'prom-client';

/** A value of one object, with the labels that the object's other values have not. */
type Sample = [value: number, labels?: Record<string, string>];

/** A gauge of what objects of a kind say. */
export interface Measure<T> {
  name: string;
  help: string;
  /** Its labels besides those of the object. */
  by?: readonly string[];
  /** Samples with the same labels add up. */
  read: (object: T) => Sample[];
}

/** Gauges of objects of a kind, from their spec and status. */
export class StatusGauges<T> {
  readonly #labelsOf: (object: T) => Record<string, string>;
  readonly #gauges: { gauge: Gauge; read: Measure<T>['read'] }[];

  constructor(
    registry: Registry,
    measures: readonly Measure<T>[],
    labelNames: readonly string[],
    labelsOf: (object: T) => Record<string, string>,
  ) {
    this.#labelsOf = labelsOf;
    this.#gauges = measures.map(({ name, help, by = [], read }) => ({
      gauge: new Gauge({ name, help, labelNames: [...labelNames, ...by], registers: [registry] }),
      read,
    }));
  }

  /** Reads all objects. A value that no object has any longer gets no sample. */
  look(objects: Iterable<T>): void {
    for (const { gauge } of this.#gauges) gauge.reset();
    for (const object of objects) {
      const own = this.#labelsOf(object);
      for (const { gauge, read } of this.#gauges)
        for (const [value, labels] of read(object)) gauge.inc({ ...own, ...labels }, value);
    }
  }
}
