import type { VmCell } from '../../contract/fleet.ts';
import { hrefOf } from '../pure/route.ts';
import { cellName, movedTo, type Row } from '../pure/rows.ts';

/** What a row of squares shows. */
interface SquaresInput {
  row: Row;
  /** What it is called, to those who do not see it. */
  name: string;
  namespace: string;
}

/**
 * Rows with so many squares are drawn in a frame, a new square as several: the browser lays out and paints all of a row
 * anew. The rest follows in the next frame.
 */
const FRAME_BUDGET = 800;
const NEW_SQUARE = 4;
/** Rows so near to what is seen are drawn, in pixels. */
const NEAR = '400px';

const waiting = new Set<VmSquares>();
let frame = 0;

/** Draws rows that have changed, as many as a frame has time for. */
function drawSome(): void {
  let left = FRAME_BUDGET;
  frame = 0;
  for (const row of waiting) {
    left -= row.cost;
    if (left < 0 && left + row.cost < FRAME_BUDGET) break;
    waiting.delete(row);
    row.draw();
  }
  if (waiting.size > 0) frame = requestAnimationFrame(drawSome);
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) (target as VmSquares).isNear = isIntersecting;
  },
  { rootMargin: NEAR },
);

/**
 * `<vm-squares>`: a grid of VMs, one square each, in as many lines as it takes. It is one stop for the Tab key; arrows
 * move in it, Enter opens a VM. It draws only while it is near to what is seen, and then only what has changed.
 */
class VmSquares extends HTMLElement {
  #input: SquaresInput | null = null;
  #drawn: readonly VmCell[] = [];
  #isNear = false;
  #focused = 0;
  readonly #line = document.createElement('div');

  connectedCallback(): void {
    if (this.#line.parentNode !== this) {
      this.setAttribute('role', 'grid');
      this.#line.setAttribute('role', 'row');
      // Until its squares are drawn, it is not a row without any.
      this.#line.ariaBusy = 'true';
      this.append(this.#line);
      this.addEventListener('keydown', (event) => this.#key(event));
      this.addEventListener('click', (event) => this.#open(event));
      this.addEventListener('focusin', ({ target }) => this.#rove([...this.#line.children].indexOf(target as Element)));
    }
    observer.observe(this);
  }

  disconnectedCallback(): void {
    observer.unobserve(this);
    waiting.delete(this);
  }

  set input(input: SquaresInput) {
    this.#input = input;
    this.#later();
  }

  set isNear(isNear: boolean) {
    this.#isNear = isNear;
    this.#later();
  }

  /** What it takes to draw it now, in squares. */
  get cost(): number {
    const { cells, missing } = this.#input?.row ?? { cells: [], missing: 0 };
    const count = cells.length + missing;
    return count + Math.max(0, count - this.#line.children.length) * NEW_SQUARE;
  }

  #later(): void {
    if (!this.#isNear || this.#input === null) return;
    waiting.add(this);
    if (frame === 0) frame = requestAnimationFrame(drawSome);
  }

  draw(): void {
    if (this.#input === null) return;
    const { row, name } = this.#input;
    this.setAttribute('aria-label', name);
    const { cells, missing } = row;
    this.dataset['size'] = sizeOf(cells.length + missing);
    const squares = this.#line.children;
    while (squares.length > cells.length + missing) this.#line.lastElementChild!.remove();
    if (squares.length < cells.length + missing) this.#add(cells.length + missing - squares.length);
    for (const [index, cell] of cells.entries())
      if (this.#drawn[index] !== cell) drawVm(squares[index] as HTMLElement, cell);
    for (let index = cells.length; index < squares.length; index++) drawMissing(squares[index] as HTMLElement);
    this.#drawn = [...cells];
    this.#line.ariaBusy = null;
    this.#rove(Math.min(this.#focused, Math.max(cells.length - 1, 0)));
  }

  #add(count: number): void {
    const added = document.createDocumentFragment();
    for (let index = 0; index < count; index++) {
      const square = document.createElement('span');
      square.setAttribute('role', 'gridcell');
      added.append(square);
    }
    this.#line.append(added);
  }

  /** Makes a square the one that the Tab key comes to. */
  #rove(index: number): void {
    const squares = this.#line.children;
    if (index < 0 || index >= this.#drawn.length) return;
    if (index !== this.#focused) squares[this.#focused]?.removeAttribute('tabindex');
    this.#focused = index;
    (squares[index] as HTMLElement).tabIndex = 0;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter') return this.#open(event);
    const count = this.#drawn.length;
    const to = movedTo(event.key, this.#focused, { count, columns: this.#columns() });
    if (to === null) return;
    event.preventDefault();
    const square = this.#line.children[to] as HTMLElement;
    square.tabIndex = -1;
    square.focus();
  }

  /** How many squares are in the first line. */
  #columns(): number {
    const squares = [...this.#line.children] as HTMLElement[];
    const top = squares[0]?.offsetTop;
    const next = squares.findIndex(({ offsetTop }) => offsetTop !== top);
    return next === -1 ? squares.length : next;
  }

  #open(event: MouseEvent | KeyboardEvent): void {
    const [name] = this.#drawn[[...this.#line.children].indexOf(event.target as Element)] ?? [];
    if (name === undefined || this.#input === null || getSelection()?.isCollapsed === false) return;
    const href = hrefOf(`vm/${this.#input.namespace}/${name}`);
    if (event.ctrlKey || event.metaKey) open(href, '_blank', 'noopener');
    else location.hash = href;
  }
}

/** Squares are smaller where there are many. */
function sizeOf(count: number): 'l' | 'm' | 's' {
  if (count <= 60) return 'l';
  return count <= 200 ? 'm' : 's';
}

function drawVm(square: HTMLElement, cell: VmCell): void {
  square.dataset['s'] = cell[1];
  square.setAttribute('aria-label', cellName(cell));
}

function drawMissing(square: HTMLElement): void {
  if (square.dataset['s'] === 'none') return;
  square.dataset['s'] = 'none';
  square.setAttribute('aria-label', 'missing');
  square.removeAttribute('tabindex');
}

customElements.define('vm-squares', VmSquares);
