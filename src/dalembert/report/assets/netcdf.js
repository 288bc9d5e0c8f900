// Labelled arrays as a file of NetCDF 3, which SciPy and xarray open: a head of names, then numbers, largest byte first.
"use strict";
const NETCDF = { char: 2, int: 4, double: 6, dimension: 10, variable: 11, attribute: 12 };

class NetcdfHead {
  constructor() {
    this.parts = [];
    this.size = 0;
  }

  bytes(bytes) {
    const gap = -bytes.length & 3; // everything fills words of four bytes
    this.parts.push(bytes, new Uint8Array(gap));
    this.size += bytes.length + gap;
  }

  int(value) {
    const word = new Uint8Array(4);
    new DataView(word.buffer).setInt32(0, value);
    this.bytes(word);
  }

  text(text) {
    const bytes = new TextEncoder().encode(text);
    this.int(bytes.length);
    this.bytes(bytes);
  }

  list(tag, entries, write) {
    this.int(entries.length ? tag : 0);
    this.int(entries.length);
    entries.forEach(write);
  }

  // Text, a number, or an Int32Array of whole ones.
  attributes(entries) {
    this.list(NETCDF.attribute, Object.entries(entries), ([name, value]) => {
      this.text(name);
      if (typeof value === "string") { this.int(NETCDF.char); this.text(value); return; }
      const whole = value instanceof Int32Array;
      this.int(whole ? NETCDF.int : NETCDF.double);
      this.int(whole ? value.length : 1);
      if (whole) value.forEach((one) => this.int(one)); else this.bytes(largestFirst(Float64Array.of(value)));
    });
  }
}

function largestFirst(values) {
  const bytes = new Uint8Array(8 * values.length), view = new DataView(bytes.buffer);
  for (let k = 0; k < values.length; k++) view.setFloat64(8 * k, values[k]);
  return bytes;
}

// `sizes` {dimension: length}, `attributes`, `variables` [{name, dims, attrs, values}] of a Float64Array or, for characters, a Uint8Array.
function netcdf(sizes, attributes, variables) {
  const dims = Object.keys(sizes), data = variables.map(({ values }) => (values instanceof Uint8Array ? values : largestFirst(values)));
  const padded = data.map((bytes) => bytes.length + (-bytes.length & 3));
  function head(first) {
    const header = new NetcdfHead();
    header.bytes(Uint8Array.of(0x43, 0x44, 0x46, 1)); // "CDF", version 1
    header.int(0); // no dimension grows
    header.list(NETCDF.dimension, dims, (name) => { header.text(name); header.int(sizes[name]); });
    header.attributes(attributes);
    let at = first;
    header.list(NETCDF.variable, variables, (one, k) => {
      header.text(one.name);
      header.int(one.dims.length);
      one.dims.forEach((name) => header.int(dims.indexOf(name)));
      header.attributes(one.attrs);
      header.int(one.values instanceof Uint8Array ? NETCDF.char : NETCDF.double);
      header.int(padded[k]);
      header.int(at);
      at += padded[k];
    });
    return header;
  }
  const header = head(head(0).size);
  return new Blob([...header.parts, ...data.flatMap((bytes) => [bytes, new Uint8Array(-bytes.length & 3)])], { type: "application/x-netcdf" });
}

// Names as characters in rows of one length, as xarray writes and reads them.
function characterArray(names) {
  const rows = names.map((name) => new TextEncoder().encode(name)), wide = Math.max(1, ...rows.map((row) => row.length));
  const values = new Uint8Array(wide * rows.length);
  rows.forEach((row, k) => values.set(row, wide * k));
  return { values, wide };
}
