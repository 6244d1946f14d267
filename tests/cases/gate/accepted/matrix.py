# accepted
# operators
y = (x @ w + b) ** 2 // 3 % 5 << 1 >> 1 & 255 | 1 ^ ~0
