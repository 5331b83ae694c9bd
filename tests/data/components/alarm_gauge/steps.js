export const steps = (readings) =>
  readings.map((reading, index) => ({ x: index * 5, height: reading / 5 }));
