// Line splitter for JSON lines. Its buffer never holds more than the limit of one line.

const NEWLINE = 0x0a;
const KEPT_OF_LONG_LINE = 64;

export class LineSplitter {
  #chunks = [];
  #bytes = 0;
  #tooLong = false;

  /**
   * @param {number} maxBytes the longest line, without its newline
   * @param {(line: string) => void} onLine gets U+FFFD in place of invalid UTF-8
   * @param {(start: string) => void} onLongLine called at the end of a line over the limit, with the first bytes of the line
   * @param {number} [delimiter] the byte that ends a line
   */
  constructor(maxBytes, onLine, onLongLine, delimiter = NEWLINE) {
    this.maxBytes = maxBytes;
    this.delimiter = delimiter;
    this.onLine = onLine;
    this.onLongLine = onLongLine;
  }

  push(chunk) {
    let from = 0;
    for (let end = chunk.indexOf(this.delimiter); end >= 0; end = chunk.indexOf(this.delimiter, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#finishLine();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** Ends the input. A rest without a newline is a line too. */
  end() {
    if (this.#bytes > 0) this.#finishLine();
  }

  #keep(part) {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#tooLong) return;
    this.#chunks.push(part);
    if (this.#bytes <= this.maxBytes) return;
    this.#tooLong = true;
    this.#chunks = [Buffer.concat(this.#chunks).subarray(0, KEPT_OF_LONG_LINE)];
  }

  #finishLine() {
    const line = Buffer.concat(this.#chunks).toString('utf8');
    const tooLong = this.#tooLong;
    this.#chunks = [];
    this.#bytes = 0;
    this.#tooLong = false;
    if (tooLong) this.onLongLine(line);
    else this.onLine(line);
  }
}
