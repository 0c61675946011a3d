// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// The files of PulseKit that import Combine, in a copy that imports OpenCombine: `run` makes it. A module named Combine
// would switch on every `canImport(Combine)` of the build.
let package = Package(
    name: "publishers",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .target(
            name: "Publishers",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            path: "Copy"),
        .testTarget(
            name: "PublisherTests",
            dependencies: ["Publishers", .product(name: "PulseTesting", package: "PulseKit")], path: "Tests"),
    ],
    swiftLanguageModes: [.v6]
)
